// Package guestvm starts measured guests for leases: a virtual machine of QEMU for each, with a TPM in software and the image that
// docs/operate/guest.md describes.
//
// The agent passes on what customer and guest say to each other (package attest/guest/control), and sees neither job nor output. What the
// guest gives back are sealed records: [Runtime] keeps them as they came, as a job's output. A guest ends with its lease, and with its
// agent.
//
// The TPM is the provider's own, so that it proves nothing about the provider. Only a processor that keeps the host out could.
package guestvm
