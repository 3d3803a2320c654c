"use strict";

// A region with data-jobs-live is fetched from there and replaced, until it
// comes without: then what it tells about has ended, and the page is loaded anew.
{
    const SECONDS = 2;
    const MOST_SECONDS = 60;

    const follow = (region, seconds) => {
        setTimeout(() => refresh(region, seconds), seconds * 1000);
    };

    const refresh = async (region, seconds) => {
        if (document.hidden) {
            document.addEventListener("visibilitychange", () => refresh(region, SECONDS), {once: true});
            return;
        }
        const next = await fetched(region.dataset.jobsLive);
        if (next === undefined) {
            follow(region, Math.min(seconds * 2, MOST_SECONDS));
        } else if (next === null || !next.dataset.jobsLive) {
            location.reload();
        } else if (region.contains(document.activeElement)) {
            // What has the focus stays.
            follow(region, SECONDS);
        } else {
            region.replaceWith(next);
            follow(next, SECONDS);
        }
    };

    // The region; undefined where the server does not answer, null where it has none for this person any more.
    const fetched = async (url) => {
        try {
            const response = await fetch(url, {credentials: "same-origin", redirect: "manual"});
            if (response.status >= 500) {
                return undefined;
            }
            const page = new DOMParser().parseFromString(response.ok ? await response.text() : "", "text/html");
            return page.querySelector("section");
        } catch {
            return undefined;
        }
    };

    document.addEventListener("DOMContentLoaded", () => {
        const region = document.querySelector("[data-jobs-live]");
        if (region) {
            follow(region, SECONDS);
        }
    });
}
