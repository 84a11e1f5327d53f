import type { Json } from '@countersign/contract'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { checkPolicy } from '../../api/policies'
import { readText } from '../../components/json/read-text'
import { syntaxProblem } from '../../components/json/syntax-problem'
import { type PolicyProblem, problemsOf, problemsOfError } from './problems'

/** How long after the last key the server checks the text. */
const PAUSE_MS = 300

export interface PolicyCheck {
  /** The parsed text; undefined while it is not valid JSON. */
  readonly value: Json | undefined
  readonly problems: readonly PolicyProblem[]
  readonly hasErrors: boolean
  /** Whether the server has checked exactly this text. */
  readonly isChecked: boolean
  /** Why the server could not check it. */
  readonly failure: Error | null
}

/** Checks the text while the user types: the JSON at once, the policy on the server a moment later. */
export function useCheck(text: string): PolicyCheck {
  const [settled] = useDebouncedValue(text, PAUSE_MS)
  const read = useMemo(() => readText(text), [text])
  const query = useQuery({
    queryKey: ['policies', 'check', settled],
    queryFn: ({ signal }) => checkPolicy(settled, signal),
    enabled: isObject(settled),
    placeholderData: keepPreviousData,
    gcTime: 30_000,
  })
  const { data, error, isPlaceholderData } = query
  const problems = useMemo(() => {
    if (!read.ok) return [syntaxProblem(text, read)]
    if (!isObject(text)) return problemsOf(text, NO_OBJECT)
    if (error !== null) return problemsOfError(text, error)
    return data === undefined ? [] : problemsOf(text, data)
  }, [text, read, data, error])
  return {
    value: read.ok ? read.value : undefined,
    problems,
    hasErrors: problems.some(({ severity }) => severity === 'error'),
    isChecked: !isObject(text) || (settled === text && query.isFetched && !isPlaceholderData),
    failure: problems.length === 0 ? error : null,
  }
}

const NO_OBJECT = { valid: false, errors: [{ pointer: '', detail: 'must be an object' }], warnings: [] }

function isObject(text: string): boolean {
  const read = readText(text)
  return read.ok && typeof read.value === 'object' && read.value !== null && !Array.isArray(read.value)
}
