/**
 * <crunloop/adapters/qt.h>: an rlc_loop inside the event loop of a thread of Qt 5 or 6. For C++17, with QtCore.
 *
 * A nested QEventLoop serves the loop too, unless it excludes socket notifiers.
 */
#ifndef CRUNLOOP_ADAPTERS_QT_H
#define CRUNLOOP_ADAPTERS_QT_H

#include <crunloop/adapters/hosted.h>
#include <new>
#include <QAbstractEventDispatcher>
#include <QCoreApplication>
#include <QMetaObject>
#include <QObject>
#include <QSocketNotifier>

/** A loop in a thread's event loop. The caller that attaches it ends it by rlc_qt_detach. */
struct rlc_qt_host {
    rlc_hosted hosted;
    QObject *context;          /**< Owns the notifier and the connections. */
    QSocketNotifier *notifier; /**< A child of the context. */
    bool is_queued;            /**< An event is posted that will make a pass. */
    bool has_passed;           /**< The event has made this iteration's pass: the notifier's next signal makes none. */
};

/** Makes one pass. Thread: [loop]. */
static inline void rlc_qt_dispatch(rlc_qt_host *host) {
    if (rlc_hosted_dispatch(&host->hosted))
        delete host;
}

/**
 * Makes the pass that was posted as an event. With its dispatcher for GLib, Qt may also activate the notifier in the
 * same iteration: has_passed notes that this needs no second pass.
 * Thread: [loop].
 */
static inline void rlc_qt_dispatch_event(rlc_qt_host *host) {
    host->is_queued = false;
    if (rlc_hosted_dispatch(&host->hosted))
        delete host;
    else
        host->has_passed = true;
}

/**
 * Makes one pass because the descriptor is readable, unless the event of this iteration has made the pass, or will make
 * it. The function skips only one activation, because other code may iterate Qt's GMainContext, and Qt does not report
 * the beginning of such an iteration.
 * Thread: [loop].
 */
static inline void rlc_qt_activated(rlc_qt_host *host) {
    bool is_served = host->is_queued || host->has_passed;
    host->has_passed = false;
    if (!is_served)
        rlc_qt_dispatch(host);
}

/**
 * Called before and after each sleep of Qt. If there is work, the function posts an event, which ends the sleep.
 * Thread: [loop].
 */
static inline void rlc_qt_prepare(rlc_qt_host *host) {
    host->has_passed = false;
    bool has_work = rlc_hosted_prepare(&host->hosted);
    if (host->hosted.is_detached) {
        if (rlc_hosted_is_over(&host->hosted))
            delete host;
        return;
    }
    if (host->hosted.status < 0)
        host->notifier->setEnabled(false);
    if (!has_work || host->is_queued)
        return;
    host->is_queued = true;
    QMetaObject::invokeMethod(
        host->context, [host] { rlc_qt_dispatch_event(host); }, Qt::QueuedConnection);
}

/**
 * Adds a loop to the event loop of the calling thread.
 *
 * @param loop     The loop; the caller destroys it after rlc_qt_detach.
 * @param ret_host The host; the caller ends it by rlc_qt_detach.
 * @return 0; -ENOMEM; -EINVAL (the thread has no event dispatcher yet: create the application or the thread's event
 *         loop first).
 *
 * Thread: [loop].
 */
static inline int rlc_qt_attach(rlc_loop *loop, rlc_qt_host **ret_host) {
    QAbstractEventDispatcher *dispatcher = QAbstractEventDispatcher::instance();
    if (dispatcher == nullptr)
        return -EINVAL;
    rlc_qt_host *host = new (std::nothrow) rlc_qt_host{rlc_hosted_make(loop), nullptr, nullptr, false, false};
    if (host == nullptr)
        return -ENOMEM;
    host->context = new QObject;
    host->notifier = new QSocketNotifier(rlc_loop_fd(loop), QSocketNotifier::Read, host->context);
    auto prepare = [host] { rlc_qt_prepare(host); };
    QObject::connect(host->notifier, &QSocketNotifier::activated, host->context, [host] { rlc_qt_activated(host); });
    QObject::connect(dispatcher, &QAbstractEventDispatcher::aboutToBlock, host->context, prepare);
    QObject::connect(dispatcher, &QAbstractEventDispatcher::awake, host->context, prepare);
    *ret_host = host;
    return 0;
}

/**
 * Tells whether the loop has failed. The host no longer serves a loop that has failed.
 *
 * @param host From rlc_qt_attach.
 * @return 0, or the -errno of rlc_loop_prepare or rlc_loop_dispatch, such as -ECHILD.
 *
 * Thread: [loop].
 */
static inline int rlc_qt_status(const rlc_qt_host *host) {
    return host->hosted.status;
}

/**
 * Removes a loop from its event loop. The loop continues to exist, and can be attached again.
 *
 * @param host From rlc_qt_attach; NULL is allowed. The pointer is invalid afterwards. A callout of the loop may make
 *             the call.
 *
 * Thread: [loop].
 */
static inline void rlc_qt_detach(rlc_qt_host *host) {
    if (host == nullptr)
        return;
    host->notifier->setEnabled(false);
    QObject::disconnect(QAbstractEventDispatcher::instance(), nullptr, host->context, nullptr);
    QCoreApplication::removePostedEvents(host->context); /* a posted pass would come after the end of the host */
    if (rlc_hosted_detach(&host->hosted)) {
        delete host->context;
        delete host;
    } else {
        host->context->deleteLater(); /* one of its slots is on the stack */
    }
}

#endif
