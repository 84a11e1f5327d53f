/** One policy, stored or new: its text, a form for it, its problems, and a simulator. */
import type { Policy } from '@countersign/contract'
import { Button, Group, Stack, Tabs, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { ApiError } from '../../api/client'
import { newOnceKey } from '../../api/once'
import { readOpenApi } from '../../api/openapi'
import { createPolicy, replacePolicy } from '../../api/policies'
import { Badge } from '../../components/badges'
import { visibleText } from '../../components/invisible'
import { JsonEditor, type JsonEditorHandle } from '../../components/json/json-editor'
import { rangeOfValue } from '../../components/json/json-tree'
import { ErrorNotice, Notice } from '../../components/notice'
import { Page } from '../../components/page'
import { Panel } from '../../components/panel'
import { EMPTY_REQUEST, type RequestDraft } from '../../components/simulation/request-form'
import { Ago } from '../../components/time'
import { useMay } from '../../session'
import { policyCompletion } from './complete'
import { Conflict } from './conflict'
import { LeaveGuard } from './leave-guard'
import classes from './policy.module.css'
import { PolicyForm } from './policy-form'
import { PolicyMenu } from './policy-menu'
import { ProblemList } from './problem-list'
import { problemsOfError } from './problems'
import { Revisions } from './revisions'
import { TryIt } from './try-it'
import { useCheck } from './use-check'
import { useDraft } from './use-draft'

export interface PolicyWorkbenchProps {
  /** The stored policy; null for a new one. */
  readonly policy: Policy | null
  /** The initial text of the editor, if it differs from the stored one. */
  readonly start?: string
  /** The initial request of the simulator. */
  readonly request?: RequestDraft
  readonly notice?: ReactNode
  /** A JSON pointer to the place that the editor scrolls to first. */
  readonly place?: string
  readonly tab?: string | undefined
  readonly onTab?: (tab: string) => void
}

export function PolicyWorkbench(props: PolicyWorkbenchProps) {
  const { policy, start, request: firstRequest = EMPTY_REQUEST, notice, place, tab, onTab } = props
  const draft = useDraft(policy, start)
  const { text, base, isDirty, theirs } = draft
  const check = useCheck(text)
  const [request, setRequest] = useState(firstRequest)
  const [side, setSide] = useState<string | null>(firstRequest === EMPTY_REQUEST ? 'form' : 'try')
  const editor = useRef<JsonEditorHandle>(null)
  // The pointer is valid for the initial text only.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  useEffect(() => {
    if (place !== undefined) editor.current?.show(rangeOfValue(text, place), { isFocused: false })
  }, [])
  const mayWrite = useMay()('policies:write')
  const complete = useCompletion(request)
  const client = useQueryClient()
  const navigate = useNavigate()

  const [creation] = useState(keyedByText)
  const save = useMutation({
    mutationFn: ({ text: written, over }: { readonly text: string; readonly over: Policy | null }) =>
      over === null ? createPolicy(written, creation.keyOf(written)) : replacePolicy(over.id, written, over.revision),
    onSuccess: async (saved, { text: written, over }) => {
      client.setQueryData(['policies', saved.id], saved)
      draft.markSaved(saved, written)
      void client.invalidateQueries({ queryKey: ['policies'] })
      if (over === null || start !== undefined)
        await navigate({ to: '/policies/$id', params: { id: saved.id }, replace: true, ignoreBlocker: true })
    },
    onError: (error) => {
      if (codeOf(error) === 'revision_mismatch') void client.invalidateQueries({ queryKey: ['policies', base?.id] })
    },
  })
  const isOfText = save.variables?.text === text
  const saveError = save.isError && isOfText && codeOf(save.error) !== 'revision_mismatch' ? save.error : null
  const problems = useMemo(
    () =>
      codeOf(saveError) === 'policy_name_taken'
        ? [...problemsOfError(text, saveError), ...check.problems]
        : check.problems,
    [text, saveError, check.problems],
  )
  const obstacle = check.hasErrors ? 'Fix the errors first.' : null
  const canSave = mayWrite && isDirty && obstacle === null && theirs === null && !save.isPending
  const submit = () => canSave && save.mutate({ text, over: base })

  const title = base === null ? 'New policy' : visibleText(base.name)
  return (
    <Page
      title={title}
      heading={base === null ? title : <PolicyHeading policy={base} />}
      lead={base === null ? 'It takes effect when you save it.' : <PolicyLead policy={base} />}
      actions={
        <>
          <Text size="sm" className="quiet" role="status">
            {isDirty ? 'Not saved' : base === null ? '' : 'Saved'}
          </Text>
          {isDirty && (
            <Button variant="default" onClick={draft.discard}>
              Discard
            </Button>
          )}
          <Button
            onClick={submit}
            disabled={!canSave}
            loading={save.isPending}
            title={mayWrite ? (obstacle ?? undefined) : 'Your key is missing the scope policies:write.'}
          >
            Save
          </Button>
          {base !== null && mayWrite && (
            <PolicyMenu
              policy={base}
              isDirty={isDirty}
              onSaved={(saved) => {
                client.setQueryData(['policies', saved.id], saved)
                draft.load(saved)
                void client.invalidateQueries({ queryKey: ['policies'] })
              }}
            />
          )}
        </>
      }
    >
      <Stack gap="md">
        {isDirty && notice}
        {!mayWrite && (
          <Notice kind="info">
            Your key is missing the scope policies:write. You can test changes here but not save them.
          </Notice>
        )}
        {theirs !== null && base !== null && (
          <Conflict
            base={base}
            theirs={theirs}
            onLoad={() => draft.load(theirs)}
            onSaveOver={mayWrite && obstacle === null ? () => save.mutate({ text, over: theirs }) : null}
            isSaving={save.isPending}
          />
        )}
        {saveError !== null && (
          <ErrorNotice
            error={saveError}
            title={codeOf(saveError) === 'not_found' ? 'The policy was deleted while you were editing' : 'Not saved'}
          />
        )}
        {codeOf(saveError) === 'not_found' && (
          <Group>
            <Button variant="default" onClick={() => save.mutate({ text, over: null })}>
              Save it as a new policy
            </Button>
          </Group>
        )}
        <Tabs
          value={tab === 'revisions' && base !== null ? 'revisions' : 'edit'}
          onChange={(value) => onTab?.(value ?? 'edit')}
          keepMounted
        >
          {base !== null && (
            <Tabs.List mb="md">
              <Tabs.Tab value="edit">Edit</Tabs.Tab>
              <Tabs.Tab value="revisions">Revisions</Tabs.Tab>
            </Tabs.List>
          )}
          <Tabs.Panel value="edit">
            <div className={classes.columns}>
              <Panel title="Text">
                <Stack gap="xs">
                  <JsonEditor
                    ref={editor}
                    label="Policy as JSON"
                    size="large"
                    text={text}
                    onChange={draft.setText}
                    problems={problems}
                    complete={complete}
                    onSave={submit}
                  />
                  <ProblemList
                    text={text}
                    problems={problems}
                    check={check}
                    onShow={(range) => editor.current?.show(range)}
                  />
                </Stack>
              </Panel>
              <Tabs value={side} onChange={setSide} keepMounted>
                <Tabs.List mb="sm">
                  <Tabs.Tab value="form">Form</Tabs.Tab>
                  <Tabs.Tab value="try">Try it</Tabs.Tab>
                </Tabs.List>
                <Tabs.Panel value="form">
                  <PolicyForm value={check.value} edit={draft.edit} />
                </Tabs.Panel>
                <Tabs.Panel value="try">
                  <TryIt
                    text={text}
                    policyId={base?.id ?? null}
                    request={request}
                    onChange={setRequest}
                    obstacle={obstacle}
                  />
                </Tabs.Panel>
              </Tabs>
            </div>
          </Tabs.Panel>
          {base !== null && (
            <Tabs.Panel value="revisions">
              {tab === 'revisions' && (
                <Revisions
                  policyId={base.id}
                  present={policy}
                  restore="Restore in the editor"
                  onRestore={(revision) => {
                    draft.restore(revision)
                    onTab?.('edit')
                  }}
                />
              )}
            </Tabs.Panel>
          )}
        </Tabs>
        <LeaveGuard isDirty={isDirty} />
      </Stack>
    </Page>
  )
}

/** Keeps one idempotency key per text, because a different text creates a different policy. */
function keyedByText() {
  const keys = new Map<string, string>()
  return {
    keyOf(text: string): string {
      const key = keys.get(text) ?? newOnceKey()
      keys.set(text, key)
      return key
    },
  }
}

function PolicyHeading({ policy: { name, enabled, mode } }: { readonly policy: Policy }) {
  return (
    <>
      {visibleText(name)} {!enabled && <Badge tone="quiet">disabled</Badge>}{' '}
      {mode === 'shadow' && <Badge tone="log">shadow</Badge>}
    </>
  )
}

function PolicyLead({ policy: { id, revision, updated_at } }: { readonly policy: Policy }) {
  return (
    <>
      Revision {revision}, saved <Ago at={updated_at} /> · <span className="mono">{id}</span>
    </>
  )
}

/** Completes from the API's schema, and from the facts in the simulator's request. */
function useCompletion({ context }: RequestDraft) {
  const { data } = useQuery({ queryKey: ['openapi'], queryFn: readOpenApi, staleTime: Number.POSITIVE_INFINITY })
  const latest = useRef({ data, context })
  latest.current = { data, context }
  return useMemo(
    () =>
      policyCompletion(
        () => latest.current.data,
        () => factsOf(latest.current.context),
      ),
    [],
  )
}

function factsOf(context: string): string[] {
  try {
    return Object.keys(JSON.parse(context)).map((key) => `context.${key}`)
  } catch {
    return []
  }
}

function codeOf(error: unknown): string | null {
  return error instanceof ApiError ? (error.problem?.code ?? null) : null
}
