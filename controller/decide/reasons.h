// controller/decide/reasons.h - which condition types, reasons and events do users wait for and
// alert on?
#pragma once

#include <string_view>

#include "job/types.h"
#include "kube/model/disruption.h"

namespace nervex::controller {

// Condition types.
inline constexpr std::string_view kCreated = "Created";
inline constexpr std::string_view kScheduled = "Scheduled";                  // the base gang
inline constexpr std::string_view kRequestsScheduled = "RequestsScheduled";  // requested pods
inline constexpr std::string_view kPodsCreated = "PodsCreated";  // False: a write failed
inline constexpr std::string_view kReplacementLimitExceeded = "ReplacementLimitExceeded";
inline constexpr std::string_view kAggregatorMissing = "AggregatorMissing";
// True: a placement constraint of the pods is not planned, but left to kube-scheduler.
inline constexpr std::string_view kPlacementBestEffort = "PlacementBestEffort";
inline constexpr std::string_view kOrdinalsNearlyExhausted = "OrdinalsNearlyExhausted";
// True: the job could not use the namespace's Service (--services=shared).
inline constexpr std::string_view kPerPodServices = "PerPodServices";
// True: the API server has refused a pod that was to be created with its node (--direct-placement).
// Also an event.
inline constexpr std::string_view kDirectPlacementRefused = "DirectPlacementRefused";
// True: the job waits, and a dry run has shown that the API server would refuse its pods. Also a
// reason and an event.
inline constexpr std::string_view kPodsRefused = "PodsRefused";
using job::kRequestsLost;
inline constexpr std::string_view kRunning = "Running";
inline constexpr std::string_view kReady = "Ready";
// For kstatus (Flux, kpt, Argo's generic health): True means that waiting is useless.
inline constexpr std::string_view kStalled = "Stalled";
inline constexpr std::string_view kSucceeded = "Succeeded";
inline constexpr std::string_view kFailed = "Failed";
inline constexpr std::string_view kFinished = "Finished";
inline constexpr std::string_view kSuspended = "Suspended";  // a reason and an event too
inline constexpr std::string_view kRequeued = "Requeued";    // an event too

// Of AggregatorMissing: the job waits; the job runs without an aggregator.
inline constexpr std::string_view kWaitsForConfig = "WaitsForAggregatorConfig";
inline constexpr std::string_view kNoConfig = "NoAggregatorConfig";

// Of PerPodServices, and events.
inline constexpr std::string_view kServiceNameTaken = "ServiceNameTaken";
inline constexpr std::string_view kInvalidServiceName = "InvalidServiceName";

// Reasons of conditions and events, as defined by the contract.
inline constexpr std::string_view kJobCreated = "NerveXJobCreated";
inline constexpr std::string_view kJobRunning = "NerveXJobRunning";
inline constexpr std::string_view kJobSucceeded = "NerveXJobSucceeded";
inline constexpr std::string_view kJobFailed = "NerveXJobFailed";
inline constexpr std::string_view kSuccessfulCreate = "SuccessfulCreate";
inline constexpr std::string_view kFailedCreate = "FailedCreate";
inline constexpr std::string_view kSuccessfulDelete = "SuccessfulDelete";
inline constexpr std::string_view kFailedDelete = "FailedDelete";
inline constexpr std::string_view kFailedStatusUpdate = "FailedStatusUpdate";
inline constexpr std::string_view kFailedToUpdateEndpointSlices = "FailedToUpdateEndpointSlices";
inline constexpr std::string_view kPodsLost = "PodsLost";      // lost, and replaced
inline constexpr std::string_view kUnreadable = "Unreadable";  // this program cannot decode the job

// status.reason, where it is not a condition's.
// The API server would refuse the job's pods: their PriorityClass does not exist.
inline constexpr std::string_view kPriorityClassMissing = "PriorityClassMissing";
// The namespace's jobs ask for as many pods as --max-pods-per-namespace allows. Also of
// RequestsScheduled.
inline constexpr std::string_view kTooManyPods = "TooManyPods";
inline constexpr std::string_view kQueued = "Queued";      // not planned yet
inline constexpr std::string_view kStarting = "Starting";  // planned; pods are being created
inline constexpr std::string_view kCompleted = "Completed";
inline constexpr std::string_view kCoordinatorFailed = "CoordinatorFailed";
inline constexpr std::string_view kCoordinatorLost = "CoordinatorLost";
inline constexpr std::string_view kPodGroupLost = "PodGroupLost";
inline constexpr std::string_view kRequestsUnschedulable = "RequestsUnschedulable";
inline constexpr std::string_view kPreviousJobTerminating = "PreviousJobTerminating";
inline constexpr std::string_view kPreviousAttemptTerminating = "PreviousAttemptTerminating";
inline constexpr std::string_view kBackOff = "BackOff";  // the next attempt is not due yet
inline constexpr std::string_view kBackoffLimitExceeded = "BackoffLimitExceeded";
inline constexpr std::string_view kCoordinatorRestarted = "CoordinatorRestarted";
inline constexpr std::string_view kDeadlineExceeded = "DeadlineExceeded";
inline constexpr std::string_view kScheduleTimeout = "ScheduleTimeout";
inline constexpr std::string_view kStartTimeout = "StartTimeout";  // an event too
inline constexpr std::string_view kInvalidName = "InvalidName";
// Of events, and of conditions of the previous attempt: a new one begins.
inline constexpr std::string_view kTemplateChanged = "TemplateChanged";

// Why an attempt was requeued without a failure: of condition Requeued, status.lastAttempt.
using kube::kDisrupted;
using kube::kEvicted;
using kube::kNodeLost;
using kube::kNodeShutdown;
using kube::kNodeTainted;
using kube::kPreempted;
using kube::kRejected;

// Of PlacementBestEffort.
inline constexpr std::string_view kLeftToScheduler = "LeftToScheduler";

// Of Ready, True and False; of AggregatorMissing when a config exists again.
inline constexpr std::string_view kPodsReady = "PodsReady";
inline constexpr std::string_view kPodsNotReady = "PodsNotReady";
inline constexpr std::string_view kAggregatorFailed = "AggregatorFailed";
inline constexpr std::string_view kAggregatorFound = "AggregatorFound";

// Of conditions that are False.
inline constexpr std::string_view kPodsAccepted = "PodsAccepted";  // of PodsRefused
inline constexpr std::string_view kContinued = "Continued";        // of ReplacementLimitExceeded
inline constexpr std::string_view kResumed = "Resumed";            // of Suspended; an event too
inline constexpr std::string_view kNewAttempt = "NewAttempt";      // the condition was about the
                                                                   // last attempt

}  // namespace nervex::controller
