package terminal

// ClearScreen moves the cursor of a terminal to the top left and clears the screen.
const ClearScreen = "\x1b[H\x1b[J"
