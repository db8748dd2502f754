package early

const (
	sysWrite     = 1
	sysExecve    = 59
	sysPrctl     = 157
	sysExitGroup = 231
)
