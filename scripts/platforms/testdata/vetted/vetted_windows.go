package vetted

import "fmt"

// Wrong has a fault that a compiler does not see.
func Wrong() { fmt.Printf("%d\n", "one") }
