// Package snapshot keeps encrypted snapshots of a folder in a customer's bucket.
//
// A file is cut into chunks of 4 MiB. A chunk is named by an HMAC of its content and encrypted (XChaCha20-Poly1305) with
// that name, so that what the last snapshot has is not sent again, and without the key it is neither read nor changed.
// A manifest lists files and their chunks; it is encrypted too, and named by the sha256 of its bytes, which is what stands on
// chain. Below the backup's prefix there are chunks/DAY/NAME, manifests/HASH, and writers/ID: a mark that names the snapshot
// from which a writer goes on. Prune removes snapshots that are old, and the chunks that only they have.
//
// Folders, ordinary files with their holes, and symbolic links are kept, with owner, mode and time of change. Hard links become
// files of their own; sockets, pipes and extended attributes are left out.
package snapshot
