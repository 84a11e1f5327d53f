export { type Config, ConfigError, readConfig } from './config.js'
export { type Started, start } from './start.js'
