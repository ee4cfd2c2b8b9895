// Package vetted compiles everywhere.
package vetted
