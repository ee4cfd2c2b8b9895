// Package version says which build of Gantry a program is.
package version

// Build is the version of the packages, which scripts/dist.sh sets when it links; "dev" in a checkout.
var Build = "dev"
