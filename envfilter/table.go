package envfilter

// GenericTable returns the rows that suit any backend; a host adds its own.
func GenericTable() Table {
	const all = Cron | Agent | BrainCLI
	return Table{
		{"PATH", all},
		{"HOME", all},
		{"TZ", all},
		{"LANG", all},
		{"NO_COLOR", all},
		{"TERM", all},
	}
}

// BrainKitTable returns the table of contract brainkit, section 2.2: an example
// of a host's table. It differs in one row: PI_CODING_AGENT_DIR goes to nobody,
// since brainbox gives the agent a home of its own.
func BrainKitTable() Table {
	var t Table
	for _, group := range []struct {
		to    Audience
		names []string
	}{
		{Cron | Agent | BrainCLI, forAll()},
		{Agent | BrainCLI, []string{
			"HOME", "CLAUDE_CONFIG_DIR", "NO_COLOR", "BRAIN_CHROME_NO_SANDBOX", "BRAIN_UI_CHROME_NO_SANDBOX",
			"ANTHROPIC_API_KEY",
		}},
		{Agent, []string{
			"XDG_CONFIG_HOME", "ANTHROPIC_AUTH_TOKEN", "OPENROUTER_API_KEY", "ANTHROPIC_BASE_URL",
			"ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL",
			"CLAUDE_CODE_SUBAGENT_MODEL",
		}},
		{Cron, []string{"DB_PATH", "BRAIN_UI_PRICING_DISCOVERY", "BRAIN_UI_PRICING_TTL_HOURS"}},
		{PerCall, perCall()},
		{HostOnly, hostOnly()},
	} {
		for _, name := range group.names {
			t = append(t, Row{name, group.to})
		}
	}
	return t
}

func forAll() []string {
	return []string{
		"PATH", "BRAIN_PATH", "BRAIN_ROOT", "NODE_ENV", "TZ", "XDG_BIN_HOME", "BRAIN_RERANK_MODE",
		"CLAUDE_CODE_OAUTH_TOKEN", "GITHUB_TOKEN", "BRAIN_UI_SYNC_GITHUB_TOKEN", "GEMINI_API_KEY",
		"TYPESAFE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "GEMINI_BASE_URL", "SCRAPE_CHROME_URL",
		"CHROME_CDP_URL", "SCRAPE_CHROME_PATH", "SCRAPE_CHROME_NO_SANDBOX", "SCRAPE_USER_AGENT",
		"SCRAPE_RESPECT_ROBOTS",
	}
}

// perCall lists credentials that one spawn gets as an extra, when its profile or
// an enabled search provider needs them.
func perCall() []string {
	return []string{
		"EXA_API_KEY", "BRAVE_API_KEY", "JINA_API_KEY", "PERPLEXITY_API_KEY", "TAVILY_API_KEY",
		"FIRECRAWL_API_KEY", "KAGI_API_KEY",
	}
}

func hostOnly() []string {
	return []string{
		"BRAIN_UI_SUBPROCESS_ENV_EXTRA", "BRAIN_UI_SKILLS_GITHUB_TOKEN", "HOST", "BRAIN_UI_CONFIRM_BASH",
		"BRAIN_UI_WS_MAX_CONNECTIONS", "BRAIN_UI_WS_RATE", "BRAIN_UI_WS_BURST", "BRAIN_UI_LOG_LEVEL",
		"SOURCE_COMMIT", "ALLOWED_ORIGINS", "MAX_CONCURRENT_SESSIONS", "BRAIN_UI_TURN_TIMEOUT_MS", "AUTH_MODE",
		"BRAIN_UI_PASSWORD_HASH", "COOKIE_SECRET", "TRUST_PROXY", "TRUST_PROXY_HOPS", "PROXY_AUTH_HEADER",
		"BRAIN_UI_DANGEROUSLY_DISABLE_AUTH", "BRAIN_UI_ALLOW_PASSWORD", "WEBAUTHN_RP_NAME",
		"WEBAUTHN_USER_NAME", "WEBAUTHN_USER_ID", "WEBAUTHN_RP_ID", "WEBAUTHN_ORIGINS",
		"BRAIN_UI_ALLOW_LOOPBACK_ORIGIN", "AGENT_BACKEND", "CLAUDE_CODE_PATH",
		"BRAIN_UI_CLAUDE_TOKEN_MINTED_AT", "BRAIN_UI_CLAUDE_DEFAULT_MODEL", "BRAIN_UI_CLAUDE_PROFILES",
		"BRAIN_UI_PI_PROFILES", "BRAIN_UI_MODEL_DISCOVERY", "BRAIN_UI_MODEL_TTL_HOURS", "DEEPGRAM_API_KEY",
		"VOICE_PROVIDER", "VOICE_KEYTERM_LIMIT", "VOICE_CACHE_DIR", "BRAIN_UI_REVERSE_GEOCODE",
		"BRAIN_GEO_CONFIG_JSON", "NOMINATIM_PUBLIC_SERVICE_ELIGIBLE", "NOMINATIM_URL", "NOMINATIM_USER_AGENT",
		"PI_CODING_AGENT_DIR",
	}
}
