//! The MCP protocol: lists the tool and calls it.

use std::error::Error;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, InitializeResult,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError};
use rmcp::{ErrorData, ServiceExt};

use super::prompt::{self, PermissionPrompt};

#[derive(Clone)]
struct McpServer {
    prompt: Option<PermissionPrompt>,
}

/// Serves standard input and output until the other end closes.
pub(crate) async fn serve(prompt: Option<PermissionPrompt>) -> Result<(), Box<dyn Error + Send + Sync>> {
    let service = match (McpServer { prompt }).serve(rmcp::transport::stdio()).await {
        Ok(service) => service,
        // An agent that exits before the handshake is not our error.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    service.waiting().await?;
    Ok(())
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        InitializeResult::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("windlass", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |_: &PermissionPrompt| Tool::new(prompt::NAME, prompt::ABOUT, prompt::schema());
        Ok(ListToolsResult::with_all_items(self.prompt.iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(prompt) = self.prompt.as_ref().filter(|_| request.name == prompt::NAME) else {
            return Err(ErrorData::invalid_params(format!("no tool `{}`", request.name), None));
        };
        let text = prompt.answer(request.arguments).await;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}
