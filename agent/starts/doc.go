// Package starts keeps signed records of how containers of images have started on this machine, and answers anybody who
// names an image (docs/adr/0051-compatibility-records.md).
package starts
