#!/usr/bin/env node
import '@countersign/server/cli'
