package terminal

import "os"

// Width returns zero, because not every Windows console supports the escape sequences that redraw a line.
func Width(*os.File) int { return 0 }
