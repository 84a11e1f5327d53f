import { z } from 'zod'
import { LIMITS } from './limits.js'
import { hasResourceCharacters } from './names.js'

const patternOf = (field: string, maximum: number, isMade: (text: string) => boolean) =>
  z
    .string()
    .refine((text) => text.length >= 1 && text.length <= maximum && isMade(text), {
      error: `must be 1 to ${maximum} of the characters of ${field} and *`,
    })
    .meta({
      minLength: 1,
      maxLength: maximum,
      description: `Pattern over ${field}: \`*\` stands for any run of characters, also none; nothing else is special.`,
    })

/** Which agents. */
export const AgentPatternSchema = patternOf('an agent id', LIMITS.agentIdLength, (text) =>
  /^[A-Za-z0-9._:@/+*-]+$/.test(text),
)
/** Which actions. */
export const ActionPatternSchema = patternOf('an action', LIMITS.actionLength, (text) =>
  /^[A-Za-z0-9_.*-]+$/.test(text),
)
/** Which resources. */
export const ResourcePatternSchema = patternOf('a resource', LIMITS.resourceLength, hasResourceCharacters)
