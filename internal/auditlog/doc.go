// Package auditlog reads what the kernel itself writes down about refusals of Landlock
// (LANDLOCK_ACCESS and LANDLOCK_DOMAIN records, Linux 6.15, linux/audit.h), and tells the
// report of a run.
//
//	log, err := auditlog.Open()
//	if err != nil {
//		return nil // as a rule: no CAP_AUDIT_READ, or audit is off
//	}
//	defer log.Close()
//	… // the run
//	auditlog.Merge(report, log.Denied(pid, exe, time.Second), judge)
//
// The records come by the multicast group of the kernel's audit socket, beside whatever audit
// daemon there is, and nothing is changed: whether audit is on, who gets its records, and its
// rules stay as they are.
//
// The kernel writes down refusals of a domain after an execve only if the domain was made with
// LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON (Landlock ABI 7).
//
// # Limits
//
// It takes CAP_AUDIT_READ in the first user namespace, and the first network namespace. To see
// that audit is off takes CAP_AUDIT_CONTROL; without it, nothing comes and nothing is said.
// A record names the folder in which something was to be made or removed, and not the thing.
// The kernel drops records where they come too fast (audit_rate_limit, audit_backlog_limit), and
// so does a full socket: what is not there proves nothing. A path is as the program sees it.
package auditlog
