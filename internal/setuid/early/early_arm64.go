package early

const (
	sysWrite     = 64
	sysExitGroup = 94
	sysPrctl     = 167
	sysGetuid    = 174
	sysSetresuid = 147
	sysExecve    = 221
)
