// Package image fetches container images by digest and stores their layers. Each layer is unpacked once, and a
// container's root file system is an overlay of layers. Images come from strangers: [Store.Pull] belongs into a
// separate process, and keeps to its limits.
//
// A store is a folder. Several processes use it at once:
//
//	layers/ID       an unpacked layer
//	sizes/ID.json   how large it is; the file's time is that of the layer's last use
//	images/ID.json  which layers an image has, and how it wants to be run
//	tmp/ID          what a pull is at, and how much of the cache it has taken for itself
//	lock            byte ranges of it are locks: of a pull, of a layer in use, of a layer that is unpacked, of the accounts
//
// A layer's ID depends on three things:
//   - its own content;
//   - the content of all layers below it, because parent folders that an archive leaves out get their owner and mode
//     from there;
//   - its visibility: a layer that was fetched with a credential serves its own repository alone.
//
// So no customer gets files that its own credential does not open. And no customer can prepare folders for the image of
// another.
//
// Three layers are fetched at a time. They are unpacked one after the other, the lowest first: one while it comes, those behind it
// from files. Where the cache has no room for these files, layers are fetched one at a time.
//
// Layers and images appear by a rename. A killed pull leaves its files in tmp; the next pull and the agent's start
// remove them. When the cache is full, the store first removes the layers that were not used for longest. It keeps
// layers that a lease or a pull uses.
//
// Formats: the OCI image specification, https://github.com/opencontainers/image-spec.
package image
