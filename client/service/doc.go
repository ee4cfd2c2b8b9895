// Package service is what Gantry's interfaces do: searching offers, looking at leases and at the market, and saying what
// went wrong. The command line and the HTTP API are thin on top of it, so both answer with the same documents and the
// same errors.
package service
