// Package snapshot keeps encrypted snapshots of a folder in a customer's bucket.
//
// A file is cut into chunks of 4 MiB. The name of a chunk is an HMAC of its content. The chunk is encrypted
// (XChaCha20-Poly1305) with that name. So chunks that are in the last snapshot are not sent again, and nobody can read
// or change a chunk without the key. A manifest lists files and their chunks. It is encrypted too. Its name is the
// sha256 of its bytes, and this hash is on chain.
//
// Below the backup's prefix there are chunks/DAY/NAME, manifests/HASH, and writers/ID. A file writers/ID is a mark: it
// names the snapshot from which a writer continues. Prune removes old snapshots, and the chunks that only they have.
// A folder that is kept for several leases, one after the other, also has claims/ORDER: which order uses it.
//
// Folders, ordinary files with their holes, and symbolic links are kept, with owner, mode and time of change. Hard
// links become separate files. Sockets, pipes and extended attributes are left out.
package snapshot
