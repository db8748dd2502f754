package early

const (
	sysWrite     = 64
	sysExitGroup = 94
	sysPrctl     = 167
	sysExecve    = 221
)
