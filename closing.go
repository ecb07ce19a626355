package exactlyone

// closingAttempts is how many more attempts a client makes in the closing phase.
const closingAttempts = 20
