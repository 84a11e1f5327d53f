import { Button, Container, Stack, Title } from '@mantine/core'
import { ErrorNotice } from '../components/notice'

/** Shown in the place of a page that has a fault. */
export function FailedPage({ error }: { readonly error: unknown }) {
  return (
    <Container size="xs" py="xl" component="main">
      <Stack>
        <Title order={1}>This page has failed</Title>
        <ErrorNotice error={error} title="A fault in the dashboard. Nothing was changed by it." />
        <Button variant="default" onClick={() => window.location.reload()}>
          Load it again
        </Button>
      </Stack>
    </Container>
  )
}
