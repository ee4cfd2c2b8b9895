// Package image fetches container images by digest and keeps their layers, each unpacked once, so that a container's root
// file system is an overlay of them. Images come from strangers: [Store.Pull] belongs into a process of its own, and
// takes no more than its limits.
//
// A store is a folder. Several processes use it at once:
//
//	layers/ID       an unpacked layer
//	sizes/ID.json   how large it is; the file's time is that of the layer's last use
//	images/ID.json  which layers an image has, and how it wants to be run
//	tmp/ID          what a pull is at, and how much of the cache it has taken for itself
//	lock            byte ranges of it are locks: of a pull, of a layer in use, of a layer that is unpacked, of the accounts
//
// A layer's ID follows from its own content, from that of all layers below it, because parent folders that an archive
// leaves out take their owner and mode from below, and from who may see it: one that was fetched with a credential serves
// its own repository alone. So no customer gets files that its own credential does not open, and none prepares folders for
// the image of another.
//
// Layers and images appear by a rename. What a killed pull has left is in tmp, and is removed with the next pull and at
// the agent's start. When the cache is full the layers that were not used for longest go first; those that a lease or a
// pull uses stay.
//
// Formats: the OCI image specification, https://github.com/opencontainers/image-spec.
package image
