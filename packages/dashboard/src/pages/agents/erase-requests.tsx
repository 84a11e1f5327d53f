import { Button, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { eraseRequests } from '../../api/audit'
import { forgetRequests } from '../../api/query-client'
import { Dialog, DialogButtons } from '../../components/dialog'
import { ErasureConsequences } from '../../components/erasure'
import { visibleText } from '../../components/invisible'
import { ErrorNotice, Notice } from '../../components/notice'
import { Panel } from '../../components/panel'

/** Erases the requests of all decisions about an agent. */
export function EraseRequests({ id }: { readonly id: string }) {
  const [isOpen, dialog] = useDisclosure()
  const [erased, setErased] = useState<number | null>(null)
  return (
    <Panel title="Requests">
      <Stack gap="sm" align="flex-start">
        <Text>The server stores the resources and contexts of this agent’s requests. You can erase them all.</Text>
        <Button variant="default" onClick={dialog.open}>
          Erase all requests of this agent
        </Button>
        {erased !== null && (
          <Notice kind="success">{erased === 1 ? '1 request was erased.' : `${erased} requests were erased.`}</Notice>
        )}
      </Stack>
      <Dialog title={`Erase all requests of ${id}?`} opened={isOpen} onClose={dialog.close}>
        <Question
          id={id}
          onClose={dialog.close}
          onErased={(count) => {
            setErased(count)
            dialog.close()
          }}
        />
      </Dialog>
    </Panel>
  )
}

interface QuestionProps {
  readonly id: string
  readonly onClose: () => void
  readonly onErased: (count: number) => void
}

/** Asks for the agent's id, so that a user does not erase the requests of the wrong agent. */
function Question({ id, onClose, onErased }: QuestionProps) {
  const [typed, setTyped] = useState('')
  const run = useMutation({
    mutationFn: () => eraseRequests(id),
    onSuccess: async ({ erased }) => {
      await forgetRequests()
      onErased(erased)
    },
    // Some requests may have been erased.
    onError: forgetRequests,
  })
  const isMeant = typed.trim() === id
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isMeant && !run.isPending) run.mutate()
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <ErasureConsequences />
        <TextInput
          label="Type the agent id to confirm"
          description={visibleText(id)}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          data-autofocus
          autoComplete="off"
        />
        {run.isError && <ErrorNotice error={run.error} />}
        <DialogButtons action="Erase" onCancel={onClose} isPending={run.isPending} isDangerous isDisabled={!isMeant} />
      </Stack>
    </form>
  )
}
