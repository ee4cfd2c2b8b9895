// Package scenario holds the end-to-end tests: whole markets of real binaries that are broken on purpose. They carry
// the build tag e2e and run on the engine that GANTRY_ENGINE names (surfnet when it names none):
//
//	make test-e2e
//	GANTRY_ENGINE=agave go test -tags e2e ./localnet/scenario/
package scenario
