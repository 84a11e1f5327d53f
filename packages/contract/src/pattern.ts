import { z } from 'zod'
import { LIMITS } from './limits.js'
import { hasResourceCharacters, RESOURCE_CHARACTER } from './names.js'

const patternOf = (field: string, maximum: number, isMade: (text: string) => boolean, jsonSchemaPattern: string) =>
  z
    .string()
    .refine((text) => text.length >= 1 && text.length <= maximum && isMade(text), {
      error: `must be 1 to ${maximum} of the characters of ${field} and *`,
    })
    .meta({
      minLength: 1,
      maxLength: maximum,
      pattern: jsonSchemaPattern,
      description: `Pattern over ${field}: \`*\` matches any number of characters, including none. No other character is special.`,
    })

const madeOf = (characters: RegExp) => [(text: string) => characters.test(text), characters.source] as const

/** A pattern for agents. */
export const AgentPatternSchema = patternOf('an agent id', LIMITS.agentIdLength, ...madeOf(/^[A-Za-z0-9._:@/+*-]+$/))
/** A pattern for actions. */
export const ActionPatternSchema = patternOf('an action', LIMITS.actionLength, ...madeOf(/^[A-Za-z0-9_.*-]+$/))
/** A pattern for resources. */
export const ResourcePatternSchema = patternOf(
  'a resource',
  LIMITS.resourceLength,
  hasResourceCharacters,
  `^${RESOURCE_CHARACTER}+$`,
)
