// Package policy turns a bundle of evidence into claims: which tier a machine has, which devices it has, and what is
// stored on chain.
//
// # Tiers
//
//	0  simulated GPUs, nothing, or evidence that is false
//	1  an inventory that the node has signed
//	2  the same, and a quote of a TPM that signs a digest over it, by a key that a keeper saw to live in that TPM, of a
//	   maker whom the policy names. Its state is as known as the policy's PCR values make it
//	3  an inventory, a confidential virtual machine (SEV-SNP or TDX) that vouches for the certificate
//	   of each GPU, and for each GPU a report of its confidential mode whose measurements match the maker's references
//
// No tier shows how fast a machine is: keepers measure that (package measure).
//
// A TPM distinguishes nodes. It does not prove that the GPUs are in its machine, because a host can relay a request for
// a quote to a TPM elsewhere.
//
// At tier 3 the guest's measured image ties a GPU to its host. The code whose launch digest the policy expects is the
// code that asked the GPU for its report. A GPU report next to a TEE report does not prove this. So tier 3 requires
// that the check of the measurement has passed. A check that was not covered is never counted.
//
// # One call
//
// [Judge] builds the verifiers for a policy and runs them, and checks what binds the pieces to each other. It returns
// [Claims] with the reasons why the tier is not higher. [Evaluate] does the same with verifiers that the caller
// supplies.
//
// # What failing means
//
// Evidence can be false, with the node's own signature over it ([False]: malformed, from another challenge, or one
// device shown as two). That differs from evidence that proves nothing here ([Unproven]: an unknown root, missing
// collateral, an old driver). Only false evidence can be held against a node. In both cases [Evaluate] returns an
// error.
package policy
