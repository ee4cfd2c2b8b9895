// Package snapshot keeps encrypted snapshots of a folder in a customer's bucket.
//
// A file is cut into chunks of 4 MiB. A chunk is named by an HMAC of its content and encrypted (XChaCha20-Poly1305) with
// that name, so that what is there already is not sent again, and nobody without the key learns or changes what it is.
// A manifest lists files and their chunks; it is encrypted too, and named by the sha256 of its bytes, which is what stands on
// chain. Below the backup's prefix there are chunks/NAME and manifests/HASH.
//
// Folders, ordinary files with their holes, and symbolic links are kept, with owner, mode and time of change. Hard links become
// files of their own; sockets, pipes and extended attributes are left out.
package snapshot
