// Command shows prints its version.
package main

import (
	"fmt"

	"github.com/gantry-market/gantry/internal/version"
)

func main() { fmt.Println(version.Long) }
