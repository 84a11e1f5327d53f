#!/usr/bin/env node
import '@countersign/mcp/cli'
