// Command gantry-testserver has the servers of other people that tests and the demo need: an S3 server and an ACME server.
//
// usage: gantry-testserver s3 BUCKET ACCESS-KEY SECRET-KEY | acme PORT
//
// A server says on its first line, in JSON, where it is. It takes commands from standard input, a line each, and ends with it.
package main

import "github.com/gantry-market/gantry/internal/testtool/program/tool"

func main() {
	tool.Main("gantry-testserver", "s3 BUCKET ACCESS-KEY SECRET-KEY, or acme PORT", map[string]tool.Part{"s3": s3, "acme": acme})
}
