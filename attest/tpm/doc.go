// Package tpm verifies TPM 2.0 quotes and enrols the keys that make them.
//
// # What a quote proves, and what not
//
// A verified quote says: the TPM that holds this attestation key had these PCR values, and its host knew the nonce and
// all other evidence of the bundle when it asked. That is a statement about a machine only if the attestation key is
// known to live in a real TPM. Three things together show that:
//
//   - the endorsement key's certificate leads to a manufacturer that the policy pins ([Trust]);
//   - the attestation key's public area is exactly [AKTemplate]: it cannot leave its TPM or sign what it is handed;
//   - credential activation: a secret sealed to the endorsement key and the attestation key's name was opened
//     ([Enroller]). Only the keeper who sealed it sees that. It keeps the [Enrolment], and may sign it: the [Statement]
//     goes into the evidence, so that other keepers and auditors, who cannot repeat the activation, may rely on the
//     signature of a keeper whom they believe. Without either, the check "credential activation" is not covered, and the
//     result names no device.
//
// A quote does not show that a GPU, or the process that answers, is in that machine: whoever controls the host can
// relay requests to a TPM elsewhere. Only a measured guest image ties the rest of the evidence to it. PCR values are as
// good as the firmware that measured. A TPM in a virtual machine is as good as whoever runs the machine.
//
// # Enrolment
//
//	agent:   request := device.Request(ctx)                          -> keeper
//	keeper:  challenge := enroller.Challenge(subject, request, now)  -> agent
//	agent:   secret := device.Activate(ctx, challenge.Credential)    -> keeper, with challenge.ID
//	keeper:  enrolment := enroller.Finish(subject, id, secret, now)  stored by enrolment.AK
//	         statement := enrolment.Sign(key)                        -> agent, for device.Collector.Statements
//
// subject.Node must be the key that the connection proved, not one that the request names. An enrolment holds until the
// TPM is cleared; [Activation].MaxAge bounds how long a verifier believes it.
//
// # Evidence
//
// See the names of items ([ItemAK] and so on). All structures must be in canonical form; unknown, repeated, unsorted,
// empty and oversized items are refused. The names of checks are constants ([CheckFormat] and so on).
//
// # Event log
//
// A log is parsed and replayed with github.com/google/go-eventlog behind bounds of our own, see [ReplayLog]. Secure
// Boot's state is read from the replayed events of PCR 7 under rules that hold against a host that relabels events.
package tpm
