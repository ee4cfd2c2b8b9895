// Package control is what a machine and the measured guest that it runs say to each other. The way is a serial port of the virtual
// machine with the name [Port], which carries one session of yamux. The host opens a stream for each question, and closes its side
// after it. The guest answers on the same stream and closes it. Question and answer are one message of CBOR each, of at most
// [MaxMessage] bytes.
//
// The guest speaks first: it sends [Greeting], and the host sends nothing before. A firmware may take such a port for a terminal, write on
// it, and read what comes.
//
// The host is not trusted by the guest's customer. It forwards questions and answers, and may keep them back. What counts is in
// the answers: evidence that a TPM or TEE has signed, and what is sealed to a key in it.
//
// A job's output is sealed for the customer before it is on the port (Record). The host asks for the records by their number. It
// learns when they come, how long they are, and that the job is over.
package control
