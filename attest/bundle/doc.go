// Package bundle is the container for everything that a machine answers to one challenge, together with what is needed
// to judge it. An auditor can judge it again years later, offline, for a time of their choice.
//
// # Format, version 1
//
// Integers are little-endian.
//
//	head
//	  0    8  tag "GANTRYE1"
//	  8    2  version, 1
//	 10    2  zero
//	 12   32  genesis hash of the cluster
//	 44   32  program
//	 76   32  id of the challenge
//	108   32  node's account
//	140   32  node key (ed25519)
//	172   32  hash of a finalised slot
//	204    8  expiry of the challenge, unix seconds
//	212    8  created, unix seconds of the node's clock
//	220   64  signature of the node key, see below
//	284    2  number of pieces of evidence E, at least 1
//	286    2  number of collateral items C
//	288       E pieces: kind u16, instance u16, number of items u16 (at least 1), and for each item the length of its
//	          name u8, the name, the length of its data u32, the data
//	          C references: length of the key u8, the key, size of the data u32, sha256 of the data
//	body
//	          the data of the C collateral items, one after the other
//
// Pieces are sorted by kind, then instance; items by name; references by key. The order is strict, so there are no
// duplicates. Names are 1 to 64 characters of a–z, 0–9, '.', '_' and '-'. Keys are 1 to 255 printable ASCII characters
// without space. Nothing follows the body. So each content has exactly one encoding, and [Parse] accepts no other.
//
// # Digests
//
// [Bundle.Digest] is sha256 of the head. It is the evidence hash on chain. It commits to the challenge and the
// evidence, and through the hashes in the references also to the collateral. An archive may therefore drop the body of
// collateral that it can get elsewhere, and the digest stays the same. The file format always has the body.
//
// [Bundle.Statement] is what the node signs: tag "GANTRYN1" ‖ nonce of the challenge ‖ created i64 ‖ sha256 over all
// evidence. It leaves collateral out, because the verifier adds it.
//
// [Others] is the digest of all evidence except the TPM's. The TPM's quote signs this digest. [Claims] leaves out the
// guest's key and the TEE's report too: the guest's key signs it, and the TEE's report covers it.
package bundle
