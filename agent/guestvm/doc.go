// Package guestvm starts measured guests for leases: a virtual machine of QEMU for each, with a TPM in software and the image that
// docs/operate/guest.md describes.
//
// The agent passes on what customer and guest say to each other (package attest/guest/control), and sees neither job nor output. What the
// guest gives back are sealed records, which are kept as they came, as a job's output. A guest ends with its lease.
//
// # Surviving the agent
//
// The agent does not start QEMU itself. As package runtime does, it starts its own binary again, as "internal-guest supervise DIR" in a
// session of its own. This supervisor starts TPM and QEMU, has the guest's port, brings the job, fetches the records and limits the
// job's time. A kill -9 of the agent touches none of that. The kernel ends QEMU and the TPM when the supervisor is killed.
//
//	DIR/plan.json     what the supervisor does
//	DIR/lock          held from before the supervisor's start to its end
//	DIR/run.json      pids and their start times, and the folder of QEMU's files
//	DIR/guest.sock    takes the agent's requests, one on each connection
//	DIR/failure.json  why the guest has ended before it had a job
//	DIR/state.json    how the job is; touched while the guest runs, so that the end of a lost one is known
//	DIR/output        the sealed records
//	DIR/supervisor.log
//
// The job's phase follows from the folder alone: each agent sees the same ([Runtime]). Where the lock is free and the state says that the
// job runs, the job is lost. The agent then ends what is left of the guest.
//
// The TPM is the provider's own, so that it proves nothing about the provider. Only a processor that keeps the host out could.
package guestvm
