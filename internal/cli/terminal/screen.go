package terminal

// ClearScreen moves the cursor of a terminal to its first place and clears what is there.
const ClearScreen = "\x1b[H\x1b[J"
