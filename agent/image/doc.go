// Package image fetches container images by digest and keeps their layers, each unpacked once, so that a container's root
// file system is an overlay of them. Images come from strangers: [Store.Pull] belongs into a process of its own, and
// takes no more than its limits.
//
// A store is a folder: layers/ID is an unpacked layer, where ID is the first 32 hexadecimal digits of the sha256 of its
// uncompressed archive; images/DIGEST.json says which layers an image has and how it wants to be run; tmp/ is what a
// pull is at. Layers and images appear in one step, so that a killed pull leaves only files in tmp/.
//
// Formats: the OCI image specification, https://github.com/opencontainers/image-spec.
package image
