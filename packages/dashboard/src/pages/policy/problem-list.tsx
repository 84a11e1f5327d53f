import { Text, UnstyledButton } from '@mantine/core'
import { AlertIcon, XCircleIcon } from '@primer/octicons-react'
import { visibleText } from '../../components/invisible'
import type { TextRange } from '../../components/json/json-tree'
import { ErrorNotice } from '../../components/notice'
import classes from './problem-list.module.css'
import type { PolicyProblem } from './problems'
import type { PolicyCheck } from './use-check'

export interface ProblemListProps {
  readonly text: string
  readonly problems: readonly PolicyProblem[]
  readonly check: PolicyCheck
  readonly onShow: (range: TextRange) => void
}

/** Lists every error and warning, each with a link to its place in the text. */
export function ProblemList({ text, problems, check, onShow }: ProblemListProps) {
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const warnings = problems.length - errors
  return (
    <div>
      <Text size="sm" className="quiet" role="status">
        {check.isChecked ? summaryOf(errors, warnings) : 'Checking …'}
      </Text>
      {check.failure !== null && <ErrorNotice error={check.failure} title="The server could not check the policy" />}
      {problems.length > 0 && (
        <ul className={classes.list} aria-label="Errors and warnings">
          {problems.map((problem) => (
            <li key={`${problem.severity} ${problem.pointer} ${problem.message}`}>
              <UnstyledButton
                className={classes.problem}
                data-severity={problem.severity}
                onClick={() => onShow(problem)}
              >
                {problem.severity === 'error' ? (
                  <XCircleIcon size={16} aria-label="Error" />
                ) : (
                  <AlertIcon size={16} aria-label="Warning" />
                )}
                <span>
                  {problem.pointer !== null && problem.pointer !== '' && (
                    <span className="mono">{visibleText(problem.pointer)} </span>
                  )}
                  {visibleText(problem.message)}{' '}
                  <span className="quiet">line {text.slice(0, problem.from).split('\n').length}</span>
                </span>
              </UnstyledButton>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function summaryOf(errors: number, warnings: number): string {
  return `${counted(errors, 'error')}, ${counted(warnings, 'warning')}`
}

function counted(count: number, noun: string): string {
  return `${count === 0 ? 'no' : count} ${noun}${count === 1 ? '' : 's'}`
}
