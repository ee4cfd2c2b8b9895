// Package policy turns a bundle of evidence into claims: which tier a machine has, which devices, and what goes on
// chain.
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
// No tier says how fast a machine is: keepers measure that (package measure).
//
// A TPM tells nodes apart; it does not prove that the GPUs are in its machine, as a host can relay a request for a
// quote to a TPM elsewhere.
//
// What ties a GPU to its host at tier 3 is the guest's measured image: the code whose launch digest the policy expects
// is what asked the GPU for its report. A GPU report and a TEE report side by side prove nothing of the kind, which is
// why a tier 3 needs the check of the measurement to have passed, and why a check that was not covered is never
// counted.
//
// # One call
//
// [Judge] builds the verifiers for a policy, runs them, checks what binds the pieces to each other, and returns
// [Claims] with the reasons why the tier is not higher. [Evaluate] is the same with verifiers of the caller.
//
// # What failing means
//
// Evidence that says something false over the node's own signature ([False]: malformed, of another challenge, one
// device as two) is not the same as evidence that proves nothing here ([Unproven]: an unknown root,
// missing collateral, an old driver). Only the first can be held against a node. In both cases [Evaluate] returns an
// error.
package policy
