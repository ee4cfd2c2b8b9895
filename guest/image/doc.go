// Package image builds the disk image of the measured guest, and says what a TPM measures when it boots.
//
// The image is one file for UEFI, a unified kernel image: systemd's stub with the kernel, the initial memory disk and the command
// line in sections of their own. Kernel, modules and stub come from packages of Debian that are pinned by their sha256, and the
// program from this repository. Nothing of the time, the user or the folder goes in: who builds it again gets the same bytes.
//
// A firmware with a TPM measures the image into PCR 4, and the stub measures the sections into PCR 11. Command lines,
// credentials and extensions that are added at the boot go into PCR 12 and 13. [Expected] has the values of all four.
package image
