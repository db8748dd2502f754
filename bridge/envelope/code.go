package envelope

// The codes of a result's error (contract bridge-and-gate, section A.5), by the status that
// they come with. A host adapter may have others of its own, with failed.
const (
	// With denied; never retryable.
	CodeToolNotAllowed       = "tool_not_allowed"
	CodeOperationNotAllowed  = "operation_not_allowed"
	CodeCapabilityDenied     = "capability_denied"
	CodePrincipalDenied      = "principal_denied"
	CodeSessionMismatch      = "session_mismatch"
	CodeAllowlistMismatch    = "allowlist_mismatch"
	CodeRequestReplayed      = "request_replayed"
	CodePermissionDenied     = "permission_denied"
	CodeWriteProtectedDenied = "write_protected_denied"
	CodeEndpointForbidden    = "endpoint_forbidden"

	// With unavailable; not retryable.
	CodeBridgeNotConfigured     = "bridge_not_configured"
	CodeDispatcherEnvMissing    = "dispatcher_env_missing"
	CodeEndpointURLInvalid      = "endpoint_url_invalid"
	CodeEndpointInsecure        = "endpoint_insecure"
	CodeEndpointAuthFailed      = "endpoint_auth_failed"
	CodeEndpointNotFound        = "endpoint_not_found"
	CodeRedirectRefused         = "redirect_refused"
	CodeCommandNotFound         = "command_not_found"
	CodeCommandStartFailed      = "command_start_failed"
	CodeConfirmationUnavailable = "confirmation_unavailable"

	// With unavailable; retryable.
	CodeEndpointUnreachable = "endpoint_unreachable"
	CodeEndpointBusy        = "endpoint_busy"
	CodeOverloaded          = "overloaded"
	CodeShuttingDown        = "shutting_down"

	// With timeout; retryable only for a request whose capability is read, since the call
	// may have taken effect.
	CodeDispatchTimeout = "dispatch_timeout"
	CodePromptTimeout   = "prompt_timeout"

	// With failed; not retryable.
	CodeResultNotJSON            = "result_not_json"
	CodeResultTooLarge           = "result_too_large"
	CodeResultSchemaInvalid      = "result_schema_invalid"
	CodeResultVersionUnsupported = "result_version_unsupported"
	CodeResultDuplicateKey       = "result_duplicate_key"
	CodeResultShapeInvalid       = "result_shape_invalid"
	CodeResultStatusInvalid      = "result_status_invalid"
	CodeRequestIDMismatch        = "request_id_mismatch"
	CodeToolMismatch             = "tool_mismatch"
	CodeOperationMismatch        = "operation_mismatch"
	CodeCommandExitNonzero       = "command_exit_nonzero"
	CodeCommandSignaled          = "command_signaled"
	CodeEndpointHTTPError        = "endpoint_http_error"
	CodeRedactionFailed          = "redaction_failed"
	CodeInternalError            = "internal_error"

	// CodeCallerGone is seen in transcripts only: nobody is there to be told (vector A82).
	CodeCallerGone = "caller_gone"
)

// CapabilityRead is the capability whose calls may be repeated after a timeout.
const CapabilityRead = "read"

// Retryable reports whether a call that ended with this status and code may be made again, by
// the table of section A.5. A code that it does not have is not.
func Retryable(status Status, code, capability string) bool {
	switch status {
	case Unavailable:
		switch code {
		case CodeEndpointUnreachable, CodeEndpointBusy, CodeOverloaded, CodeShuttingDown:
			return true
		}
	case Timeout:
		switch code {
		case CodeDispatchTimeout, CodePromptTimeout:
			return capability == CapabilityRead
		}
	case Succeeded, Failed, Denied:
	}
	return false
}
