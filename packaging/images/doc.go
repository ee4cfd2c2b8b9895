// Command images makes the container images of the daemons and of the command, without a container engine. Each image is an archive
// of an OCI layout. The same programs give the same bytes.
package main
