import { Button, Stack, Text, Textarea } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { readJwks } from '../../api/jwks'
import { ErrorNotice, Notice } from '../../components/notice'
import { SidePanel } from '../../components/side-panel'
import { GenuinePermit } from './genuine-permit'
import { type PermitCheck, verifyPermit } from './verify-permit'

export interface CheckPermitDrawerProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

export function CheckPermitDrawer({ isOpen, onClose }: CheckPermitDrawerProps) {
  return (
    <SidePanel title="Check a permit" isOpen={isOpen} onClose={onClose}>
      <CheckPermit />
    </SidePanel>
  )
}

type Result = PermitCheck | { readonly result: 'failed'; readonly error: unknown }

/** Only the field holds the permit, and the check clears it. No request, cache or storage ever contains it. */
function CheckPermit() {
  const [text, setText] = useState('')
  const [result, setResult] = useState<Result | null>(null)
  const check = async (event: FormEvent) => {
    event.preventDefault()
    setText('')
    setResult(null)
    setResult(
      await verifyPermit(text.trim(), readJwks).catch((error: unknown) => ({ result: 'failed', error }) as const),
    )
  }
  return (
    <Stack gap="md">
      <form onSubmit={check}>
        <Stack gap="sm">
          <Textarea
            label="Permit"
            description="Three parts separated by dots. It is checked in your browser and is neither sent nor stored."
            value={text}
            onChange={(event) => {
              setText(event.currentTarget.value)
              // A result is shown only beside the permit that it is about.
              setResult(null)
            }}
            rows={6}
            spellCheck={false}
            autoComplete="off"
            data-autofocus
            styles={{
              description: { color: 'var(--quiet)' },
              input: { fontFamily: 'var(--mantine-font-family-monospace)', overflowWrap: 'anywhere' },
            }}
          />
          <Button type="submit" style={{ alignSelf: 'flex-start' }} disabled={text.trim() === ''}>
            Check
          </Button>
        </Stack>
      </form>
      {result !== null && <Checked result={result} />}
    </Stack>
  )
}

function Checked({ result }: { readonly result: Result }) {
  switch (result.result) {
    case 'genuine':
      return <GenuinePermit claims={result.claims} time={result.time} />
    case 'refused':
      return (
        <Notice kind="error" title="Not a permit from this server">
          <Text size="sm">{result.why} Do not act on it.</Text>
        </Notice>
      )
    case 'failed':
      return <ErrorNotice error={result.error} title="The permit could not be checked" />
  }
}
