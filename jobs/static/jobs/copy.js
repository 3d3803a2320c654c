"use strict";

// Shows the buttons that copy a text, which without this script nobody sees, and tells what came of pressing one.
{
    const TOLD_SECONDS = 4;

    const copy = async (text, button) => {
        if (navigator.clipboard) {
            await navigator.clipboard.writeText(text);
            return;
        }
        // Sites without HTTPS have no clipboard.
        const area = document.createElement("textarea");
        area.className = "visually-hidden";
        area.value = text;
        button.after(area);
        area.select();
        const isCopied = document.execCommand("copy");
        area.remove();
        button.focus();
        if (!isCopied) {
            throw new Error("The browser copies nothing.");
        }
    };

    const press = async (button) => {
        const texts = button.closest(".jobs-copied").querySelectorAll("pre");
        const said = button.parentElement.querySelector("[role=status]");
        try {
            await copy([...texts].map((text) => text.textContent).join("\n"), button);
            said.textContent = button.dataset.jobsDone;
        } catch {
            said.textContent = button.dataset.jobsFailed;
        }
        setTimeout(() => { said.textContent = ""; }, TOLD_SECONDS * 1000);
    };

    document.addEventListener("DOMContentLoaded", () => {
        for (const button of document.querySelectorAll(".jobs-copied button[data-jobs-done]")) {
            button.parentElement.hidden = false;
            button.addEventListener("click", () => press(button));
        }
    });
}
